/** The test results of a program. */
export interface ContractReport {
  /** Names of tests that passed. */
  readonly passed: string[];
  readonly failed: { readonly name: string; readonly reason: string }[];
  /** The scenes that the adapter or its framework does not support in that version. */
  readonly skipped: { readonly name: string; readonly reason: string }[];
}
