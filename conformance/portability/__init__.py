"""What other array libraries do with the uses that the audit knows: measured, and written into its data."""
