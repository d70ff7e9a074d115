/**
 * The help desk of a bank: it reports card balances, and hands lost cards over to security, which blocks them.
 *
 * An ordinary agent on the OpenAI Agents SDK, with hand-offs and tools. Nothing in this file is about training.
 *
 * @module
 */
import { Agent, handoff, type RunContext, run, tool } from '@openai/agents';
import { removeAllTools } from '@openai/agents-core/extensions';
import { z } from 'zod';

/** The balance of each card. */
export type Balances = Readonly<Record<string, number>>;

const model = 'gpt-4.1-mini';
const card = z.object({ card: z.string() });

const readBalance = tool({
  name: 'read_balance',
  description: 'Tells what is on a card.',
  parameters: card,
  execute: ({ card }, bank?: RunContext<Balances>) => String(bank?.context[card] ?? 'no such card'),
});

const blockCard = tool({
  name: 'block_card',
  description: 'Blocks a card that is lost.',
  parameters: card,
  execute: ({ card }) => `${card} is blocked.`,
});

const security = new Agent<Balances>({
  name: 'Security',
  instructions: 'You block cards.',
  model,
  tools: [blockCard],
  toolUseBehavior: 'stop_on_first_tool',
});

const helpDesk = new Agent<Balances>({
  name: 'Help desk',
  instructions: 'You help.',
  model,
  tools: [readBalance],
  // Security receives only the customer's message.
  handoffs: [handoff(security, { inputType: card, onHandoff: () => undefined, inputFilter: removeAllTools })],
});

/** The answer, and the agent that gave it. */
export interface Answer {
  readonly text: string;
  readonly agent: string | undefined;
}

/** Answers a customer. */
export async function answerCustomer(words: string, balances: Balances): Promise<Answer> {
  const { finalOutput, lastAgent } = await run(helpDesk, words, { context: balances, maxTurns: 3 });
  return { text: finalOutput ?? '', agent: lastAgent?.name };
}
