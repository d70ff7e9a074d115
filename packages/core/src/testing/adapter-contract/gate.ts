/** A gate that a scene waits for. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** Creates a closed gate. */
export function aGate(): Gate {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
