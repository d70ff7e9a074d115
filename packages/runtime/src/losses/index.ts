export { BatchMetrics, type MeasuredToken } from './batch-metrics.ts';
export { type LossDefinition, type LossName, lossDefinitions } from './loss-definitions.ts';
export { type NamedLoss, referenceTokenLoss, type ScoredToken, type TokenLoss } from './reference-loss.ts';
