export type { ExportedContent } from './export/export-attributes.ts';
export type { OtlpProtocol, TargetSettings, TraceTarget, TraceTool } from './export/export-target.ts';
export { traceTarget } from './export/export-target.ts';
export type { ScoreTarget } from './export/score-requests.ts';
export type { TraceExportCounts, TraceExporterOptions } from './export/trace-exporter.ts';
export { TraceExporter } from './export/trace-exporter.ts';
export type { OtelSpan, OtelTime } from './import/otel-span.ts';
export type { RolloutSpanProcessorOptions } from './import/rollout-span-processor.ts';
export { RolloutSpanProcessor } from './import/rollout-span-processor.ts';
