import { genAiAttributes } from '@agentlightning/core';
import type { AgentStepEnd } from '@agentlightning/core/adapter';
import { attributeText, fieldsOf } from './framework-value.ts';

/** How a tool's run ended, by what it gave back: a text, a message for the model, or a command for the graph. */
export function toolResultEnd(output: unknown): AgentStepEnd {
  const { content, status } = fieldsOf(output);
  const result = attributeText(content ?? output);
  const attributes = { [genAiAttributes.toolCallResult]: result };
  return status === 'error' ? { attributes, error: result } : { attributes };
}
