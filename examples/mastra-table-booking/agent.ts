/**
 * The reservations of a restaurant: the agent books or cancels the table of a guest with a tool.
 *
 * An ordinary agent on Mastra. Nothing in this file is about training.
 *
 * @module
 */
import { Agent } from '@mastra/core/agent';
import { RequestContext } from '@mastra/core/request-context';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

/** The guests of an evening, each with the hour of the reservation. */
export type Reservations = Map<string, number>;

/** What a request passes to the tools. */
const evening = z.object({ reservations: z.instanceof(Map<string, number>) });

const bookTable = createTool({
  id: 'book_table',
  description: 'Books a table for a guest.',
  inputSchema: z.object({ guest: z.string(), hour: z.number() }),
  requestContextSchema: evening,
  execute: async ({ guest, hour }, { requestContext }) => {
    requestContext.get('reservations').set(guest, hour);
    return `Booked ${guest} at ${hour}.`;
  },
});

const cancelTable = createTool({
  id: 'cancel_table',
  description: 'Cancels the table of a guest.',
  inputSchema: z.object({ guest: z.string() }),
  requestContextSchema: evening,
  execute: async ({ guest }, { requestContext }) => {
    return requestContext.get('reservations').delete(guest) ? `Cancelled ${guest}.` : 'No such guest.';
  },
});

const host = new Agent({
  id: 'host',
  name: 'host',
  instructions: 'You book tables.',
  model: 'openai/gpt-4.1-mini',
  tools: { book_table: bookTable, cancel_table: cancelTable },
});

/** Handles the message of a guest; the tools change the reservations. */
export async function receiveGuest(message: string, reservations: Reservations): Promise<void> {
  const requestContext = new RequestContext<z.infer<typeof evening>>([['reservations', reservations]]);
  await host.generate(message, { requestContext, maxSteps: 1 });
}
