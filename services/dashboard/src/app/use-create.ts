/** Makes something new. Tries of the same request have one key, so that what was made and not answered is made once. */
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { randomKey } from "@/lib/rest/key";

export function useCreate<Body, Made>(
  create: (body: Body, key: string) => Promise<Made>,
  done: (made: Made, body: Body) => void,
) {
  const key = useRef(randomKey());
  const renew = () => {
    key.current = randomKey();
  };
  return useMutation({
    mutationFn: (body: Body) => create(body, key.current),
    onSuccess: (made, body) => {
      renew();
      done(made, body);
    },
    onError: renew, // another body needs another key
  });
}
