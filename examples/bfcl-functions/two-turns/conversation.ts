import type { FineTuneExample } from '@agentlightning/algorithms';
import { conversation, demonstratedCall } from '../demonstration.ts';
import type { BfclTask } from '../task.ts';
import { simulatedResult, toolMessage } from './agent.ts';

/** The right conversation about a task, in the format of `agl dataset`. */
export function twoTurnConversation(task: BfclTask): FineTuneExample {
  const { messages, tools } = conversation(task);
  const call = demonstratedCall(task);
  if (call === null) return { messages, tools };
  const result = simulatedResult(call);
  return {
    messages: [...messages, toolMessage('call_0', result), { role: 'assistant', content: `The result is ${result}.` }],
    tools,
  };
}
