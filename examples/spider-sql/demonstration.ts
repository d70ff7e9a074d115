import { replayDemonstration } from '@agentlightning/trainer';
import type { BaseMessage } from '@langchain/core/messages';
import { z } from 'zod';
import { prompts } from './agent.ts';
import { databaseName, schemas } from './databases.ts';

/** A query to imitate, its result, and what to write instead when the result is an error. */
export const demonstration = z.object({
  database: databaseName,
  question: z.string(),
  written: z.string(),
  result: z.string(),
  rewritten: z.string().nullable(),
});

export type Demonstration = z.infer<typeof demonstration>;

/** The model calls of the agent in a demonstration, each as a conversation in the format of `agl dataset`. */
export function conversations({ database, question, written, result, rewritten }: Demonstration) {
  const schema = schemas[database];
  const state = { question, sql: written, result };
  return [
    conversation(prompts.write(schema, state), written),
    conversation(prompts.check(state), rewritten === null ? 'yes' : 'no'),
    ...(rewritten === null ? [] : [conversation(prompts.rewrite(schema, state), rewritten)]),
  ];
}

/** Only the response is imitated, not the earlier query in its prompt. */
function conversation(messages: readonly BaseMessage[], response: string) {
  const roles = { system: 'system', human: 'user', ai: 'assistant' };
  return {
    messages: [
      ...messages.map((message) => ({
        role: roles[message.type as keyof typeof roles],
        content: message.text,
        weight: 0,
      })),
      { role: 'assistant', content: response },
    ],
  };
}

/** The agent that shows a demonstration. */
export async function replay(demonstrated: Demonstration): Promise<number> {
  for (const one of conversations(demonstrated)) await replayDemonstration(one);
  return 1;
}
