"""The audit: records who accessed sensitive data, and lists these accesses, sign-ins and changes for admins."""
