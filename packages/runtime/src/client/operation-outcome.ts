import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { Operation } from '../gen/agentlightning/runtime/v1/operation_pb.ts';
import { RuntimeError } from '../runtime-error.ts';

type Outcome = Operation['outcome'];
type OutcomeCase = NonNullable<Outcome['case']>;
type OutcomeValue<TCase extends OutcomeCase> =
  Extract<Outcome, { readonly case: TCase }> extends { readonly value: infer TValue } ? TValue : never;

/**
 * Returns the outcome of an operation.
 * @throws RuntimeError INTERNAL when a successful operation has another outcome
 */
export function outcome<TCase extends OutcomeCase>(operation: Operation, expected: TCase): OutcomeValue<TCase> {
  const found: Outcome = operation.outcome;
  // The cases are equal, so the value has the expected type; the compiler does not narrow by a type parameter.
  if (found.case === expected) return found.value as OutcomeValue<TCase>;
  throw new RuntimeError({
    reason: ErrorReason.INTERNAL,
    message: `Operation ${operation.seq} of model "${operation.modelId}" returned ${found.case ?? 'nothing'} instead of ${expected}`,
  });
}
