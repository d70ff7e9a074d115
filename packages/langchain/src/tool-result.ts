import { type AgentStepEnd, fieldsOf, plainText } from '@agentlightning/core/adapter';
import { genAiAttributes } from '@agentlightning/core/spans';
import { textOf } from './framework-value.ts';

/** The end of a tool run, by its result: a text, a message for the model, or a command for the graph. */
export function toolResultEnd(output: unknown): AgentStepEnd {
  const { content, status, tool_call_id: callId } = fieldsOf(output);
  const result = plainText(content ?? output);
  // In LangChain 0.3 the result is the only source of the call id.
  const id = textOf(callId);
  const attributes = {
    ...(id === null ? {} : { [genAiAttributes.toolCallId]: id }),
    [genAiAttributes.toolCallResult]: result,
  };
  return status === 'error' ? { attributes, error: result } : { attributes };
}
