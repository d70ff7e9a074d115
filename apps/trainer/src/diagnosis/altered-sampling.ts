/** What altered sampling means for training, as a clause. */
export function alteredSamplingText(counts: Readonly<Record<string, number>>): string {
  const names = Object.entries(counts).map(
    ([name, count]) => `\`${name}\` (${count} model ${count === 1 ? 'call' : 'calls'})`,
  );
  return `requests have ${names.join(' and ')}, so tokens are sampled with other probabilities than the policy's`;
}
