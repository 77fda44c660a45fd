"""What a View may do: the policy, the consent of the user, and the audit log."""
