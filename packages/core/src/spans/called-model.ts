import { textOf } from '../base/json-access.ts';
import type { Attributes, AttributeValue } from './span.ts';
import { genAiAttributes, modelCallAttributes } from './span-attributes.ts';

/** The model of a recorded call. */
export interface CalledModel {
  /** The model that responded; the requested one where the response names none. */
  readonly name: string | null;
  /** The name that the agent requested; null where it is the same. */
  readonly requested: string | null;
}

/**
 * The model that responded to a call, and the one that the agent requested.
 *
 * @param record - attributes of the captured call
 * @param step - attributes of the framework's step of the same call, if there is one
 */
export function calledModel(record: Attributes, step: Attributes = {}): CalledModel {
  const sent = filled(record[genAiAttributes.requestModel]);
  const requested =
    filled(step[genAiAttributes.requestModel]) ?? filled(record[modelCallAttributes.requestedModel]) ?? sent;
  const responding = filled(record[genAiAttributes.responseModel]) ?? filled(step[genAiAttributes.responseModel]);
  const name = responding ?? sent ?? requested;
  return { name, requested: requested === name ? null : requested };
}

function filled(value: AttributeValue | undefined): string | null {
  return textOf(value) || null;
}
