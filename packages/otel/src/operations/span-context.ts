import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';

/** The operational span that the running code belongs to. Separate from the context of agents in this process. */
export const activeSpan: AsyncLocalStorage<Span | undefined> = new AsyncLocalStorage();

/** The OpenTelemetry context of the running code. */
export function activeContext(): Context {
  const span = activeSpan.getStore();
  return span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span);
}
