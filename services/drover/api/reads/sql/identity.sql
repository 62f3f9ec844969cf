-- name: audit
SELECT a.id, a.at, a.by, a.kind, a.what, a.user_agent, a.address_sealed, a.trace
FROM {page}
