"""The inner offline loops: each proposes trees and keeps those that beat their parent on train."""
