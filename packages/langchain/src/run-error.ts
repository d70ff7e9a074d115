import type { Attributes } from '@agentlightning/core';
import type { AgentStepEnd } from '@agentlightning/core/adapter';
import { fieldsOf, plainText } from '@agentlightning/core/internal';
import { textOf } from './framework-value.ts';
import { langchainAttributes } from './run-attributes.ts';

/** Names and messages of abort errors in frameworks and clients. */
const abortPattern = /^(Model|APIUser)?Abort(ed|Error)?$|^Request was aborted\.$/;
const maxCauses = 5;

/** The end of a run that threw: not everything that LangGraph throws is an error. */
export function endOf(error: unknown, isCancelled: boolean): AgentStepEnd {
  if (isBubble(error)) return { attributes: interruptAttributes(interruptsOf(error)) };
  return { error, isAborted: isCancelled || isAbort(error) };
}

/** The target of a command to the parent graph; null for any other error. */
export function handOffOf(error: unknown): string | null {
  const { command } = fieldsOf(error);
  if (!isBubble(error) || command === undefined) return null;
  const targets = [fieldsOf(command).goto].flat().map((target) => textOf(target) ?? textOf(fieldsOf(target).node));
  const named = targets.filter((target) => target !== null);
  return named.length === 0 ? null : named.join(', ');
}

/** LangGraph throws these errors as control flow: an interrupt, or a command to the parent graph. */
function isBubble(error: unknown): boolean {
  return fieldsOf(error).is_bubble_up === true;
}

/** The values of an interrupt, empty at a breakpoint; null for any other error. */
export function interruptsOf(error: unknown): readonly unknown[] | null {
  const { interrupts } = fieldsOf(error);
  return isBubble(error) && Array.isArray(interrupts) ? interrupts : null;
}

/** The attributes of an interrupted run; empty for a run that was not interrupted. */
export function interruptAttributes(interrupts: readonly unknown[] | null): Attributes {
  if (interrupts === null) return {};
  return {
    [langchainAttributes.isInterrupted]: true,
    [langchainAttributes.interrupts]: plainText(interrupts),
  };
}

/** Whether the error is an abort. */
function isAbort(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth += 1) {
    if (abortPattern.test(current.name) || abortPattern.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}
