import { type AgentStepEnd, fieldsOf, plainText } from '@agentlightning/core/adapter';
import { genAiAttributes } from '@agentlightning/core/spans';
import { textOf } from './framework-value.ts';

/** How a tool's run ended, by what it gave back: a text, a message for the model, or a command for the graph. */
export function toolResultEnd(output: unknown): AgentStepEnd {
  const { content, status, tool_call_id: callId } = fieldsOf(output);
  const result = plainText(content ?? output);
  // LangChain 0.3 tells the call's id only here.
  const id = textOf(callId);
  const attributes = {
    ...(id === null ? {} : { [genAiAttributes.toolCallId]: id }),
    [genAiAttributes.toolCallResult]: result,
  };
  return status === 'error' ? { attributes, error: result } : { attributes };
}
