import { type AgentStepEnd, fieldsOf, plainText, toolCallAttributes } from '@agentlightning/core/adapter';
import { textOf } from './framework-value.ts';

/** The end of a tool run, by its result: a text, a message for the model, or a command for the graph. */
export function toolResultEnd(output: unknown): AgentStepEnd {
  const { content, status, tool_call_id: callId } = fieldsOf(output);
  const result = plainText(content ?? output);
  // In LangChain 0.3 the result is the only source of the call id.
  const attributes = toolCallAttributes({ id: textOf(callId), output: result });
  return status === 'error' ? { attributes, error: result } : { attributes };
}
