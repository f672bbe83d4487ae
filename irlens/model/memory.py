"""What a ttgir says about shared memory and about the loads of a loop, as records."""
