/** The measurements that a training runtime reports of its passes, steps and memory, besides those of `policy` and `value`. */
export const runtimeMetrics = {
  trainLoss: { name: 'train/loss', unit: 'number', title: 'Loss of a pass' },
  trainTokensPerSecond: {
    name: 'train/tokens_per_second',
    unit: 'tokens/s',
    better: 'higher',
    title: 'Speed of a pass',
  },
  trainComputedTokensPerSecond: {
    name: 'train/computed_tokens_per_second',
    unit: 'tokens/s',
    better: 'higher',
    title: 'Speed of a pass, without reused prefixes',
  },
  trainMfu: { name: 'train/mfu', unit: 'share', better: 'higher', title: 'FLOP/s of a pass, of the peak' },
  microBatchTokens: { name: 'train/micro_batch_tokens', unit: 'tokens', title: 'Tokens of a micro-batch' },
  microBatchRetries: {
    name: 'train/micro_batch_retries',
    unit: 'number',
    bounds: [0, null],
    better: 'lower',
    title: 'Retries with smaller micro-batches',
  },
  optimizerGradientNorm: {
    name: 'optimizer/gradient_norm',
    unit: 'number',
    bounds: [0, null],
    title: 'Gradient norm of an optimizer step',
  },
  optimizerSeconds: { name: 'optimizer/seconds', unit: 'seconds', better: 'lower', title: 'Time of an optimizer step' },
  phaseSeconds: { name: 'time/<phase>_seconds', unit: 'seconds', title: 'Time of the runtime by phase' },
  stepTokensPerSecond: {
    name: 'step/tokens_per_second',
    unit: 'tokens/s',
    better: 'higher',
    title: 'Speed between two optimizer steps',
  },
  stepMfu: {
    name: 'step/mfu',
    unit: 'share',
    better: 'higher',
    title: 'FLOP/s between two optimizer steps, of the peak',
  },
  memoryUsed: { name: 'memory/used_bytes', unit: 'bytes', title: 'Memory in use' },
  memoryPeak: { name: 'memory/peak_bytes', unit: 'bytes', title: 'Peak of the memory in use' },
  memoryTotal: { name: 'memory/total_bytes', unit: 'bytes', title: 'Memory of the device' },
  memoryAllocated: { name: 'memory/allocated_bytes', unit: 'bytes', title: 'Memory of tensors' },
} as const;
