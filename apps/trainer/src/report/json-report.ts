import { addressText } from '@agentlightning/core/internal';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import type { Report } from './report.ts';

/**
 * Writes each event as a line of JSON, without progress within a step and without the output of agents.
 *
 * @param printElsewhere - receives output that is not JSON
 */
export function jsonReport(write: (line: string) => void, printElsewhere: (text: string) => void): Report {
  return {
    onEvent: (event) => {
      if (event.type === 'agent-output') printElsewhere(`${event.line}\n`);
      const printed = printedEvent(event);
      if (printed !== null) write(`${JSON.stringify(printed)}\n`);
    },
    print: printElsewhere,
    close: () => undefined,
  };
}

/** The printed form of an event; null for events that are not printed. */
function printedEvent(event: TrainingEvent): TrainingEvent | null {
  switch (event.type) {
    case 'agent-output':
    case 'rollout-finished':
    case 'search-progress':
      return null;
    case 'stepped': {
      const { summary } = event;
      // JSON has no NaN.
      const metrics = Object.entries(summary.metrics).filter(([, value]) => Number.isFinite(value));
      return { ...event, summary: { ...summary, metrics: Object.fromEntries(metrics) } };
    }
    case 'finished':
      return { ...event, summary: { ...event.summary, storeUrl: addressText(event.summary.storeUrl) } };
    default:
      return event;
  }
}
