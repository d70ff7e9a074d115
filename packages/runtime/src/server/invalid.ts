import type { RuntimeFeature } from '@agentlightning/core/training-runtime';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { EngineCapabilities } from './engine.ts';

/** The error for an invalid value, with its field and datum. */
export function invalid(field: string, message: string, datumIndex?: number): RuntimeError {
  const where = datumIndex === undefined ? field : `data[${datumIndex}].${field}`;
  return new RuntimeError({
    reason: ErrorReason.INVALID,
    message: `${where} ${message}`,
    field,
    datumIndex,
  });
}

/** Validates an id or name chosen by a client. */
export function assertName(field: string, value: string): void {
  if (/^[A-Za-z0-9_-]{1,255}$/.test(value)) return;
  throw invalid(field, `is "${value.slice(0, 80)}"; it must be 1 to 255 of A-Z a-z 0-9 _ -`);
}

/** @throws RuntimeError INVALID for a field that requires an unsupported feature */
export function assertFeature(capabilities: EngineCapabilities, feature: RuntimeFeature, field: string): void {
  const features = capabilities.features ?? [];
  if (features.includes(feature)) return;
  throw invalid(field, `needs the feature ${feature}; this runtime has ${features.join(', ') || 'none'}`);
}
