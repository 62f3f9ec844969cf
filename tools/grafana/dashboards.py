"""The Grafana dashboards, described in Python. `python -m tools.grafana.dashboards` writes the JSON for Grafana.

In queries, use max() for metrics read from the read models, which are the same in every projector, and sum() for what
each process counts itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tools.grafana.panels import GREEN, RED, Dashboard, Panel, Query, Row

FOLDER: Final = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"
RATE: Final = "$__rate_interval"


def one(expr: str, legend: str = "") -> tuple[Query, ...]:
    return (Query(expr, legend),)


def quantiles(metric: str, by: str, where: str = "", of: tuple[float, ...] = (0.5, 0.99)) -> tuple[Query, ...]:
    groups = f"{by}, le" if by else "le"
    legend = f"{{{{{by}}}}} " if by else ""
    return tuple(
        Query(
            f"histogram_quantile({q}, sum by ({groups}) (rate({metric}_bucket{where}[{RATE}])))",
            f"{legend}p{q * 100:g}",
        )
        for q in of
    )


def number(title: str, expr: str, **more: object) -> Panel:
    return Panel(title, one(expr), kind="stat", width=3, height=4, **more)  # type: ignore[arg-type]


OPEN_ALERTS: Final = Panel(
    "Open alerts",
    one("max by (context, kind, severity) (drover_open_alerts)", "{{context}} {{kind}} ({{severity}})"),
    kind="bargauge",
    help="Problems that need a person. Drover's screen Alerts lists them.",
    yellow=1,
)

FARM: Final = Dashboard(
    "drover-farm",
    "Drover / Farm",
    "Phones, their work, and problems that need a person.",
    "/fleet",
    (
        Row(
            "Now",
            (
                number("Online", 'max(drover_fleet_devices{status="online"})'),
                number("Busy", 'max(drover_fleet_devices{status="busy"})'),
                number("Offline", 'max(drover_fleet_devices{status="offline"})', yellow=1),
                number("In error", 'max(drover_fleet_devices{status="error"})', red=1),
                number("Running", 'max(drover_fleet_assignments{state="running"})', help="Running assignments."),
                number(
                    "Waiting",
                    'max(drover_fleet_assignments{state="pending"})',
                    help="Assignments that have not started.",
                ),
                number("Jobs", "sum(max by (status) (drover_fleet_jobs))", help="Jobs that have not ended."),
                number(
                    "Critical alerts",
                    'sum(max by (context, kind) (drover_open_alerts{severity="critical"})) or vector(0)',
                    red=1,
                ),
            ),
        ),
        Row(
            "Phones",
            (
                Panel("Phones by status", one("max by (status) (drover_fleet_devices)", "{{status}}"), stacked=True),
                Panel(
                    "Signs of life",
                    one(
                        f'sum by (instance) (rate(drover_telemetry_beats_total{{context="fleet"}}[{RATE}]))',
                        "{{instance}}",
                    ),
                    unit="cps",
                    help="Heartbeats, polls and reports that gateways passed on, at most one per phone in 0.1 s.",
                    stacked=True,
                ),
                Panel("Open sockets", one("sum by (instance) (drover_sockets_open)", "{{instance}}"), stacked=True),
            ),
        ),
        Row(
            "Work",
            (
                Panel("Assignments", one("max by (state) (drover_fleet_assignments)", "{{state}}"), stacked=True),
                Panel(
                    "Offers pushed, events recorded",
                    (
                        Query(f"sum(rate(drover_gateway_offers_pushed_total[{RATE}]))", "offers"),
                        Query(f'sum(rate(drover_writer_events_total{{context="fleet"}}[{RATE}]))', "events"),
                    ),
                    unit="cps",
                ),
                Panel(
                    "Refused commands",
                    one(f'sum by (code) (rate(drover_writer_refusals_total{{context="fleet"}}[{RATE}]))', "{{code}}"),
                    unit="cps",
                    help="By code. STALE_ATTEMPT: a phone reports work that was withdrawn.",
                ),
            ),
        ),
        Row(
            "Trouble",
            (
                OPEN_ALERTS,
                Panel(
                    "Refused with 429",
                    one(f"sum by (route) (rate(drover_http_limited_requests_total[{RATE}]))", "{{route}}"),
                    unit="reqps",
                    red=1,
                ),
                Panel(
                    "Sockets closed by the server",
                    one(f"sum by (code) (rate(drover_gateway_agent_sockets_closed_total[{RATE}]))", "{{code}}"),
                    unit="cps",
                ),
            ),
        ),
    ),
)

RENDERS: Final = Dashboard(
    "drover-renders",
    "Drover / Renders",
    "The render queue with its operators' thresholds: yellow is unusual, red fires an alert.",
    "/renders",
    (
        Row(
            "Now",
            (
                number("Waiting", "max(render_queue_pending_count)", yellow=5, red=11),
                number(
                    "Success, 24 h",
                    "max(render_job_success_rate)",
                    unit="percent",
                    yellow=95,
                    red=90,
                    maximum=100,
                ),
                number("Workers", "max(ae_worker_active_count)", help="Workers heard within 30 seconds."),
                number("Licences", "max(ae_worker_licence_count)", help="The number of workers that should run."),
                number(
                    "Workers missing",
                    "clamp_min(max(ae_worker_licence_count) - max(ae_worker_active_count), 0)",
                    red=1,
                ),
            ),
        ),
        Row(
            "Queue",
            (
                Panel("Waiting renders", one("max(render_queue_pending_count)", "waiting"), yellow=5, red=10),
                Panel(
                    "Workers",
                    (Query("max(ae_worker_active_count)", "alive"), Query("max(ae_worker_licence_count)", "licences")),
                ),
                Panel(
                    "Runs ended",
                    one("sum by (outcome) (increase(render_runs_total[1h]))", "{{outcome}}"),
                    stacked=True,
                    help="Within the last hour, by how.",
                ),
            ),
        ),
        Row(
            "Times",
            (
                Panel(
                    "Render, from claim to completion",
                    quantiles("render_job_duration_seconds", "", of=(0.5, 0.95)),
                    unit="s",
                    yellow=120,
                    red=300,
                ),
                Panel(
                    "nexrender answers",
                    quantiles("nexrender_api_latency_ms", "call", of=(0.5, 0.95)),
                    unit="ms",
                    yellow=1000,
                    red=5000,
                ),
                Panel(
                    "Copy to the NAS",
                    quantiles("nas_copy_duration_seconds", "", of=(0.5, 0.95)),
                    unit="s",
                    yellow=30,
                    red=60,
                ),
            ),
        ),
        Row(
            "Trouble",
            (
                Panel(
                    "Open alerts of renders",
                    one('max by (kind, severity) (drover_open_alerts{context="render"})', "{{kind}} ({{severity}})"),
                    kind="bargauge",
                    yellow=1,
                ),
                Panel(
                    "nexrender calls that failed",
                    one(
                        f'sum by (call, outcome) (rate(nexrender_api_latency_ms_count{{outcome!="ok"}}[{RATE}]))',
                        "{{call}} {{outcome}}",
                    ),
                    unit="cps",
                ),
                Panel(
                    "Commands of the queue",
                    one(
                        f'sum by (outcome) (rate(drover_writer_commands_total{{context="render"}}[{RATE}]))',
                        "{{outcome}}",
                    ),
                    unit="cps",
                ),
            ),
        ),
    ),
)

_CHOSEN: Final = '{context=~"$context"}'
SERVICES: Final = Dashboard(
    "drover-services",
    "Drover / Services",
    "Every process, and the path of a command: HTTP, bus, writer, log, projection, Postgres.",
    "/system",
    (
        Row(
            "Now",
            (
                number("Processes up", 'sum(up{job="drover"})'),
                number("Not ready", "count(drover_ready == 0) or vector(0)", red=1),
                number("Leaders", "sum(drover_writer_leader)", help="One for each partition of each context."),
                number(
                    "Log synced",
                    "min(drover_log_synced)",
                    mappings={"1": ("every write", GREEN), "0": ("no", RED)},
                    help="Whether every NATS server syncs each write to disk.",
                ),
                number(
                    "Furthest behind",
                    (
                        "max(max by (context, partition) (drover_writer_position)"
                        " - max by (context, partition) (drover_projection_position))"
                    ),
                    yellow=100,
                    red=500,
                    help="Commits that the slowest read model is behind.",
                ),
                number(
                    "5xx a second", 'sum(rate(drover_http_requests_total{status="5xx"}[5m])) or vector(0)', red=0.05
                ),
                number("Firing alerts", 'count(ALERTS{alertstate="firing"}) or vector(0)', red=1),
                number(
                    "Fullest store",
                    "max(drover_log_store_used_bytes / (drover_log_store_limit_bytes > 0))",
                    unit="percentunit",
                    yellow=0.6,
                    red=0.8,
                ),
            ),
        ),
        Row(
            "HTTP",
            (
                Panel(
                    "Requests",
                    one(f"sum by (status) (rate(drover_http_requests_total[{RATE}]))", "{{status}}"),
                    unit="reqps",
                    stacked=True,
                ),
                Panel(
                    "Slowest routes, p99",
                    one(
                        "topk(8, histogram_quantile(0.99, sum by (route, le) (rate("
                        f'drover_http_request_duration_seconds_bucket{{route!~"/api/stream|/api/events/stream"}}[{RATE}]))))',
                        "{{route}}",
                    ),
                    unit="s",
                    red=5,
                ),
                Panel(
                    "Failed requests",
                    one(f'sum by (route) (rate(drover_http_requests_total{{status="5xx"}}[{RATE}])) > 0', "{{route}}"),
                    unit="reqps",
                ),
            ),
        ),
        Row(
            "Commands",
            (
                Panel(
                    "Commands settled",
                    one(
                        f"sum by (context, outcome) (rate(drover_writer_commands_total{_CHOSEN}[{RATE}]))",
                        "{{context}} {{outcome}}",
                    ),
                    unit="cps",
                ),
                Panel(
                    "Command, from sending to outcome",
                    quantiles("drover_bus_command_seconds", "context", _CHOSEN),
                    unit="s",
                    red=1,
                ),
                Panel(
                    "Commit, from sending to disk",
                    quantiles("drover_writer_commit_seconds", "context", _CHOSEN),
                    unit="s",
                    red=0.25,
                ),
                Panel(
                    "Waiting commands",
                    one(
                        f"max by (context, partition) (drover_writer_waiting_commands{_CHOSEN})",
                        "{{context}}/{{partition}}",
                    ),
                    red=20000,
                ),
                Panel(
                    "Refusals",
                    one(
                        f"sum by (context, code) (rate(drover_writer_refusals_total{_CHOSEN}[{RATE}]))",
                        "{{context}} {{code}}",
                    ),
                    unit="cps",
                ),
                Panel(
                    "Sent again, unanswered",
                    (
                        Query(
                            f"sum by (context) (rate(drover_bus_message_retries_total{_CHOSEN}[{RATE}]))",
                            "{{context}} again",
                        ),
                        Query(
                            f"sum by (context) (rate(drover_bus_unanswered_commands_total{_CHOSEN}[{RATE}]))",
                            "{{context}} unanswered",
                        ),
                    ),
                    unit="cps",
                ),
            ),
        ),
        Row(
            "Leaders",
            (
                Panel(
                    "Who leads",
                    one(f"drover_writer_leader{_CHOSEN} == 1", "{{context}}/{{partition}} {{instance}}"),
                    stacked=True,
                    help="One stripe for each partition; its colour changes with the leader.",
                    width=12,
                ),
                Panel(
                    "Terms ended",
                    one(
                        f"sum by (context, ended) (increase(drover_writer_terms_total{_CHOSEN}[10m]))",
                        "{{context}} {{ended}}",
                    ),
                    width=6,
                ),
                Panel(
                    "Epoch",
                    one(f"max by (context, partition) (drover_writer_epoch{_CHOSEN})", "{{context}}/{{partition}}"),
                    width=6,
                ),
            ),
        ),
        Row(
            "Log",
            (
                Panel(
                    "Size",
                    one(f"max by (context) (drover_log_bytes{_CHOSEN})", "{{context}}"),
                    unit="bytes",
                    stacked=True,
                ),
                Panel(
                    "Events recorded",
                    one(f"sum by (context) (rate(drover_writer_events_total{_CHOSEN}[{RATE}]))", "{{context}}"),
                    unit="cps",
                ),
                Panel(
                    "Stores",
                    one(
                        "max by (server) (drover_log_store_used_bytes / (drover_log_store_limit_bytes > 0))",
                        "{{server}}",
                    ),
                    unit="percentunit",
                    yellow=0.6,
                    red=0.8,
                    maximum=1,
                ),
            ),
        ),
        Row(
            "Read models",
            (
                Panel(
                    "Behind the log",
                    one(
                        f"max by (context, partition) (drover_writer_position{_CHOSEN})"
                        f" - max by (context, partition) (drover_projection_position{_CHOSEN})",
                        "{{context}}/{{partition}}",
                    ),
                    red=500,
                ),
                Panel(
                    "From event to row",
                    quantiles("drover_projection_delay_seconds", "context", _CHOSEN, (0.5, 0.95)),
                    unit="s",
                    red=5,
                ),
                Panel(
                    "Writing a batch",
                    quantiles("drover_projection_batch_seconds", "context", _CHOSEN, (0.5, 0.95)),
                    unit="s",
                ),
                Panel(
                    "Postgres connections",
                    one("sum by (instance, state) (drover_postgres_pool_connections)", "{{instance}} {{state}}"),
                ),
                Panel("Database", one("max(drover_database_size_bytes)", "size"), unit="bytes"),
                Panel(
                    "Failures",
                    one(f"sum by (context) (increase(drover_projection_failures_total{_CHOSEN}[10m]))", "{{context}}"),
                ),
            ),
        ),
        Row(
            "Reminders, analyses, alerts, people",
            (
                Panel(
                    "Reminders sent",
                    one(
                        f"sum by (provider, outcome) (rate(drover_reminder_sendings_total[{RATE}]))",
                        "{{provider}} {{outcome}}",
                    ),
                    unit="cps",
                ),
                Panel(
                    "Reminder, from due to taken",
                    (
                        *quantiles("drover_reminder_due_to_dispatched_seconds", "", of=(0.5, 0.95)),
                        Query("max(drover_reminder_overdue_seconds)", "longest due"),
                    ),
                    unit="s",
                    red=300,
                ),
                Panel(
                    "Alarms",
                    (
                        Query("sum(drover_reminder_alarms)", "known"),
                        Query("sum(drover_reminder_in_hand_alarms)", "in hand"),
                    ),
                ),
                Panel(
                    "Analyses",
                    one("sum by (what) (increase(drover_analysis_tests_total[1h]))", "{{what}}"),
                    help="Within the last hour.",
                ),
                Panel(
                    "Cleanups",
                    (
                        Query("sum by (result) (increase(drover_cleanup_runs_total[1h]))", "{{result}}"),
                        Query(
                            "(time() - max(drover_cleanup_finished_timestamp_seconds)) / 3600", "hours since the last"
                        ),
                    ),
                ),
                Panel(
                    "Alerts delivered",
                    one(
                        f"sum by (receiver, outcome) (rate(drover_notifier_sendings_total[{RATE}]))",
                        "{{receiver}} {{outcome}}",
                    ),
                    unit="cps",
                ),
                Panel(
                    "Sign-ins",
                    one(f"sum by (outcome) (rate(drover_sign_ins_total[{RATE}]))", "{{outcome}}"),
                    unit="cps",
                ),
            ),
            collapsed=True,
        ),
        Row(
            "Processes",
            (
                Panel(
                    "CPU",
                    one(
                        f'rate(process_cpu_seconds_total{{job="drover",instance=~"$instance"}}[{RATE}])', "{{instance}}"
                    ),
                    unit="percentunit",
                ),
                Panel(
                    "Memory",
                    one('process_resident_memory_bytes{job="drover",instance=~"$instance"}', "{{instance}}"),
                    unit="bytes",
                ),
                Panel(
                    "Open files",
                    one('process_open_fds{job="drover",instance=~"$instance"}', "{{instance}}"),
                ),
            ),
            collapsed=True,
        ),
    ),
    {"context": "drover_writer_leader", "instance": "drover_ready"},
)

DASHBOARDS: Final = (FARM, RENDERS, SERVICES)


def file_of(dashboard: Dashboard) -> Path:
    return FOLDER / f"{dashboard.uid.removeprefix('drover-')}.json"


def text_of(dashboard: Dashboard) -> str:
    return json.dumps(dashboard.json(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for dashboard in DASHBOARDS:
        file_of(dashboard).write_text(text_of(dashboard), encoding="utf-8")
