/**
 * The help desk of a bank: it informs customers what is on a card, and hands lost cards over to security, who block them.
 *
 * An ordinary agent on the OpenAI Agents SDK, with hand-offs and tools. Nothing in this file is about training.
 *
 * @module
 */
import { Agent, handoff, type RunContext, run, tool } from '@openai/agents';
import { removeAllTools } from '@openai/agents-core/extensions';
import { z } from 'zod';

/** What is on each card. */
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
  // Security sees what the customer said, and no more.
  handoffs: [handoff(security, { inputType: card, onHandoff: () => undefined, inputFilter: removeAllTools })],
});

/** What the bank says, and which agent says it. */
export interface Answer {
  readonly text: string;
  readonly agent: string | undefined;
}

/** Answers what a customer says. */
export async function answerCustomer(words: string, balances: Balances): Promise<Answer> {
  const { finalOutput, lastAgent } = await run(helpDesk, words, { context: balances, maxTurns: 3 });
  return { text: finalOutput ?? '', agent: lastAgent?.name };
}
