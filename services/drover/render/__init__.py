"""The render service: takes renders from the queue, has nexrender render them, and puts the files on the NAS."""
