import { AgentLightningError } from '@agentlightning/core';
import type { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { changeEvents } from '../change-events.ts';
import type { DashboardContext } from '../dashboard-context.ts';

/** Interval of heartbeats in milliseconds: proxies close idle connections, and the page detects a lost one. */
const heartbeatMs = 10_000;

/** Maximum number of open event streams. */
const maxStreams = 64;

/**
 * Adds `/api/events`: the changes of the store as server-sent events.
 *
 * @param closing - ends all streams; a string as its reason is the last event of each, `closing`
 */
export function addEventRoute(app: Hono, { store, clock }: DashboardContext, closing: AbortSignal): void {
  let open = 0;
  app.get('/api/events', (context) => {
    if (open >= maxStreams) throw tooManyStreams();
    open += 1;
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, closing]);
    context.header('x-accel-buffering', 'no');
    return streamSSE(context, async (stream) => {
      stream.onAbort(() => gone.abort());
      const heartbeat = setInterval(() => void stream.writeSSE({ event: 'heartbeat', data: '{}' }), heartbeatMs);
      try {
        for await (const event of changeEvents({ store, clock, signal })) {
          await stream.writeSSE({ event: 'changes', data: JSON.stringify(event) });
        }
        const notice: unknown = closing.reason;
        if (typeof notice === 'string') await stream.writeSSE({ event: 'closing', data: JSON.stringify({ notice }) });
      } finally {
        clearInterval(heartbeat);
        gone.abort();
        open -= 1;
      }
    });
  });
}

function tooManyStreams(): AgentLightningError {
  return new AgentLightningError({
    code: 'RESOURCE_EXHAUSTED',
    message: `Event stream refused: ${maxStreams} are open.`,
    remedy: 'Close other pages of the dashboard.',
  });
}
