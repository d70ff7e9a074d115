export type { EnvironmentContractOptions } from '../testing/environment-contract.ts';
export { describeEnvironmentContract } from '../testing/environment-contract.ts';
