"""Files and folders: staging, transactions and their journal."""
