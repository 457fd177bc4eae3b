"""Who has the card? Locks that the kernel takes back, records that survive a crash, and processes that are told apart."""
