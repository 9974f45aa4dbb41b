"""The synthetic hospital: invented patients, planted cases, their notes."""
