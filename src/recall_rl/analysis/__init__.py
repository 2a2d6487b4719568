"""What results are worth: runs read as numbers, the paper's measures, statistics over seeds, its own tables."""
