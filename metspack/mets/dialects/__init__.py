"""What each dialect of parent and child METS says, and how."""
