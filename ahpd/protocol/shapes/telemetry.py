"""OpenTelemetry exports, which are notifications without a sequence number."""

from typing import NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI
from ahpd.protocol.shapes.notation import JsonObject


class OtlpExportLogsParams(TypedDict):
    channel: URI
    payload: JsonObject


class OtlpExportMetricsParams(TypedDict):
    channel: URI
    payload: JsonObject


class OtlpExportTracesParams(TypedDict):
    channel: URI
    payload: JsonObject


class TelemetryCapabilities(TypedDict):
    logs: NotRequired[URI]
    traces: NotRequired[URI]
    metrics: NotRequired[URI]
