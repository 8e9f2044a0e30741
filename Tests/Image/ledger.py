"""What was promised, and whether it was kept."""


class Ledger:
    def __init__(self):
        self.kept, self.failed = 0, 0

    def promise(self, sentence, is_kept, detail=""):
        if is_kept:
            self.kept += 1
            print(f"  ok {sentence}", flush=True)
        else:
            self.failed += 1
            print(f"  FAILED {sentence}: {detail or 'no more was said'}", flush=True)
        return bool(is_kept)
