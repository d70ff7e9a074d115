/** Something that a scene waits at until it is opened. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** A gate that is closed. */
export function aGate(): Gate {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
