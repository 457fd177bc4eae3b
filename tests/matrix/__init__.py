"""The fuzzing suite: any knobs on any machine and engine, and the laws that every answer keeps."""
