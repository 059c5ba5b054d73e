"""What people see of a run: live progress, the closing table, the learning curve. Reads run directories only."""
