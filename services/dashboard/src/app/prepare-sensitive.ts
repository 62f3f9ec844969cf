/** For a question before a sensitive action: while it is open, a session that ends takes nobody's choices away. */
import { useEffect } from "react";
import { useApp } from "./context";

export function usePrepareSensitive(): void {
  const { client } = useApp();
  useEffect(() => {
    const release = client.prepareSensitive();
    // The action begins in the same turn in which its question closes.
    return () => void setTimeout(release);
  }, [client]);
}
