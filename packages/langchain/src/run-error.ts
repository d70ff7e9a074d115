import type { Attributes } from '@agentlightning/core';
import { type AgentStepEnd, fieldsOf, plainText } from '@agentlightning/core/adapter';
import { textOf } from './framework-value.ts';
import { langchainAttributes } from './run-attributes.ts';

/** What frameworks and clients call an abort, in the name or the message of the error. */
const abortWords = /^(Model|APIUser)?Abort(ed|Error)?$|^Request was aborted\.$/;
const maxCauses = 5;

/** How a run ended that threw: not everything that LangGraph throws is an error. */
export function endOf(error: unknown, isCancelled: boolean): AgentStepEnd {
  if (isBubble(error)) return { attributes: interruptAttributes(interruptsOf(error)) };
  return { error, isAborted: isCancelled || isAbort(error) };
}

/** Where a node sends its parent graph; null when the error is none of those. */
export function handOffOf(error: unknown): string | null {
  const { command } = fieldsOf(error);
  if (!isBubble(error) || command === undefined) return null;
  const goals = [fieldsOf(command).goto].flat().map((goal) => textOf(goal) ?? textOf(fieldsOf(goal).node));
  const named = goals.filter((goal) => goal !== null);
  return named.length === 0 ? null : named.join(', ');
}

/** LangGraph throws these to stop a node, or to reach the graph around: to ask somebody, to hand over. */
function isBubble(error: unknown): boolean {
  return fieldsOf(error).is_bubble_up === true;
}

/** What an error that stops a node asks somebody: nothing at a breakpoint; null when the error is none of those. */
export function interruptsOf(error: unknown): readonly unknown[] | null {
  const { interrupts } = fieldsOf(error);
  return isBubble(error) && Array.isArray(interrupts) ? interrupts : null;
}

/** What is said of a run that stopped to ask this; nothing of one that did not stop so. */
export function interruptAttributes(interrupts: readonly unknown[] | null): Attributes {
  if (interrupts === null) return {};
  return {
    [langchainAttributes.isInterrupted]: true,
    [langchainAttributes.interrupts]: plainText(interrupts),
  };
}

/** Whether a run was stopped from outside, as far as the error tells. */
function isAbort(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth += 1) {
    if (abortWords.test(current.name) || abortWords.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}
