/** Message of an error, or the string form of any other thrown value. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message;
  try {
    return String(error);
  } catch {
    // The thrown object has no usable toString.
    return Object.prototype.toString.call(error);
  }
}
