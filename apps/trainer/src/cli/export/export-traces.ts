import type { Rollout, RolloutMode, Store } from '@agentlightning/core';
import { quantityText, systemClock } from '@agentlightning/core/internal';
import { maxTraceRollouts, unfinishedRunStatuses } from '@agentlightning/core/protocol';
import { terminalRolloutStatuses } from '@agentlightning/core/store';
import type { OtlpProtocol, TraceExportCounts, TraceTool } from '@agentlightning/otel';
import { importOptional } from '../../user-modules/import-optional.ts';
import { writeOutcome } from '../error-text.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { listenToProcess } from '../process/listen-to-process.ts';

/** The flags of `agl export traces`. */
export interface ExportTracesFlags {
  readonly to: TraceTool;
  readonly endpoint?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly protocol?: OtlpProtocol;
  readonly mode?: readonly RolloutMode[];
  readonly rollout?: readonly string[];
  readonly follow?: boolean;
  readonly content: boolean;
  readonly tokens?: boolean;
  readonly store: string;
  readonly json?: boolean;
}

/** Polling interval for finished rollouts of a run, in milliseconds. */
const pollMs = 1000;

/**
 * Maximum delay between the end time of a rollout and its appearance in the store, in milliseconds: clocks of machines
 * differ, and transactions take time.
 */
const lateMs = 60_000;

/**
 * Sends the latest attempts of the finished rollouts of a run, and writes a summary.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, CONFIG for a missing key, UNREACHABLE without a receiver
 */
export async function exportTraces(runId: string, flags: ExportTracesFlags): Promise<TraceExportCounts> {
  const otel = await importOptional(
    '@agentlightning/otel',
    '`agl export traces`',
    () => import('@agentlightning/otel'),
  );
  const { TraceExporter, traceTarget } = otel;
  const { endpoint, header: headers, protocol, content, tokens = false } = flags;
  const target = traceTarget(flags.to, process.env, { endpoint, headers, protocol });
  const store = await openExistingStore(flags.store);
  const stop = listenToProcess({
    close: () => undefined,
    onWarning: (message) => void process.stderr.write(`${message}\n`),
  });
  let rollouts = 0;
  try {
    const { name } = await store.getRun(runId);
    const resource = { 'agentlightning.run_id': runId, 'agentlightning.run_name': name };
    const exporter = new TraceExporter({ target, content, tokens, resource });
    for await (const found of finishedRollouts(store, { runId, flags, signal: stop.signal })) {
      for (let start = 0; start < found.length; ) {
        if (stop.signal.aborted) break;
        const ids = found.slice(start, start + maxTraceRollouts).map(({ rolloutId }) => rolloutId);
        const traces = await store.readTraces(ids);
        await exporter.export(traces.flatMap(({ spans }) => spans));
        start += traces.length;
        rollouts += traces.length;
      }
    }
    writeOutcome(flags, {
      record: { run: runId, url: new URL(target.url).origin, rollouts, ...exporter.counts },
      text: summaryText(rollouts, new URL(target.url).origin, exporter.counts),
    });
    return exporter.counts;
  } finally {
    stop.release();
    await store.close();
  }
}

/** The finished rollouts of a run; with `follow` those that finish later too, until the run has ended. */
async function* finishedRollouts(
  store: Store,
  request: { readonly runId: string; readonly flags: ExportTracesFlags; readonly signal: AbortSignal },
): AsyncGenerator<readonly Rollout[]> {
  const { runId, flags, signal } = request;
  const seen = new Set<string>();
  let newestMs = -Infinity;
  while (!signal.aborted) {
    // Read before the rollouts: all of an ended run are there.
    const isOver = !unfinishedRunStatuses.includes((await store.getRun(runId)).status);
    const { items } = await store.queryRollouts({
      runId,
      statusIn: terminalRolloutStatuses,
      ...(flags.mode === undefined ? {} : { modeIn: flags.mode }),
      ...(flags.rollout === undefined ? {} : { rolloutIdIn: flags.rollout }),
      ...(Number.isFinite(newestMs) ? { endTimeFromMs: newestMs - lateMs } : {}),
      sortBy: 'endTimeMs',
    });
    const found = items.filter(({ rolloutId }) => !seen.has(rolloutId));
    for (const { rolloutId } of found) seen.add(rolloutId);
    newestMs = Math.max(newestMs, ...found.map(({ endTimeMs }) => endTimeMs ?? -Infinity));
    if (found.length > 0) yield found;
    if (flags.follow !== true || isOver) return;
    await systemClock.sleep(pollMs, signal).catch(() => undefined);
  }
}

function summaryText(rollouts: number, origin: string, counts: TraceExportCounts): string {
  const { spans, scores, requests, rejected, skipped, reasons } = counts;
  const lines = [
    `Exported ${quantityText(spans, 'span')}${scores > 0 ? ` and ${quantityText(scores, 'score')}` : ''} of ${quantityText(rollouts, 'rollout')} to ${origin} in ${quantityText(requests, 'request')}.`,
  ];
  if (rejected > 0)
    lines.push(`The receiver rejected ${quantityText(rejected, 'item')}: ${reasons.join('; ') || 'without a reason'}.`);
  if (skipped > 0) lines.push(`Skipped ${skipped} spans whose ids are not OpenTelemetry ids.`);
  return lines.join('\n');
}
