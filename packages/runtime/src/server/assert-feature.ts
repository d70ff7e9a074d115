import type { RuntimeFeature } from '@agentlightning/core/training-runtime';
import type { EngineCapabilities } from './engine.ts';
import { invalid } from './invalid.ts';

/** @throws RuntimeError INVALID for a field that requires an unsupported feature */
export function assertFeature(capabilities: EngineCapabilities, feature: RuntimeFeature, field: string): void {
  const features = capabilities.features ?? [];
  if (features.includes(feature)) return;
  throw invalid(field, `needs the feature ${feature}; this runtime has ${features.join(', ') || 'none'}`);
}
