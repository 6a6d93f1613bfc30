"""One function for each thing a user does: permission, one transaction, one place for screen and command line."""
