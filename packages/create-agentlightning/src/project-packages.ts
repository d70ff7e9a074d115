import { frameworks } from './frameworks.ts';
import type { ProjectChoice } from './project-choice.ts';

/** The packages that a new project needs, as arguments of a package manager. */
export function projectPackages({ framework, goal }: ProjectChoice): {
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
} {
  // The prompt is defined with core.
  const core = goal === 'prompt' ? ['@agentlightning/core'] : [];
  const rewards = goal === 'judge' ? ['@agentlightning/rewards'] : [];
  return {
    dependencies: ['@agentlightning/trainer', ...core, ...rewards, ...frameworks[framework].packages],
    devDependencies: ['vitest@^5', 'typescript', '@types/node@^24'],
  };
}
