/** Items by their group, groups and items in the order they came. */
export function byGroup<TItem extends { readonly groupId: string }>(
  items: readonly TItem[],
): readonly (readonly TItem[])[] {
  const groups = new Map<string, TItem[]>();
  for (const item of items) {
    const members = groups.get(item.groupId);
    if (members === undefined) groups.set(item.groupId, [item]);
    else members.push(item);
  }
  return [...groups.values()];
}
