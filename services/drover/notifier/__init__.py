"""The notifier: notifies people of each alert once when it is raised and once when it is resolved."""
