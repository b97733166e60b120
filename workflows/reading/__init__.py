"""What is read out of text: JSON replies, dates, numbers, spans and arithmetic."""
