#include "output/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "output/compact_thrift_reader.hpp"
#include "output/parquet.hpp"
#include "output/parquet_numbers.hpp"

namespace cobre::output {

namespace {

constexpr std::size_t most_columns = 1 << 12;
constexpr std::size_t most_rows = 1 << 30;
constexpr std::size_t likely_footer = 1 << 13;
constexpr unsigned most_index_bits = 16;

constexpr std::uint8_t i32_type = 5, binary_type = 8, record_type = 12;

// One column chunk, as the footer describes it.
struct Chunk {
    std::string name;
    std::int64_t type = 0;
    bool is_nullable = false;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::size_t dictionary_bytes = 0;  // 0: no dictionary
};

struct Footer {
    std::size_t rows = 0;
    std::vector<Chunk> chunks;
};

void parse_schema(Bytes& bytes, Fields& file, Footer& found) {
    const std::size_t n = file.list(2, record_type);
    require(n >= 2 && n <= most_columns);
    Fields root(bytes);
    require(root.text(4) == "schema");
    root.i32(5, static_cast<std::int64_t>(n - 1));
    root.end();
    found.chunks.resize(n - 1);
    for (Chunk& chunk : found.chunks) {
        Fields element(bytes);
        chunk.type = element.i32(1);
        require(chunk.type == BOOLEAN || chunk.type == INT32 || chunk.type == DOUBLE);
        const std::int64_t repetition = element.i32(3);
        require(repetition == REQUIRED || repetition == OPTIONAL);
        chunk.is_nullable = repetition == OPTIONAL;
        chunk.name = element.text(4);
        if (chunk.type == INT32) {
            const std::int64_t converted = element.i32(6);
            require(converted == DATE || converted == INT_8 || converted == INT_32);
        }
        element.end();
    }
}

void parse_chunk(Bytes& bytes, Chunk& chunk, std::size_t rows, std::size_t offset, std::size_t pages_end) {
    Fields outer(bytes);
    outer.i64(2, offset);
    Fields facts = outer.record(3);
    facts.i32(1, chunk.type);
    const std::size_t encodings = facts.list(2, i32_type);
    require(encodings == 2 || encodings == 3);
    require(bytes.integer() == PLAIN && bytes.integer() == RLE);
    const bool has_dictionary = encodings == 3;
    if (has_dictionary) require(bytes.integer() == RLE_DICTIONARY);
    require(facts.list(3, binary_type) == 1 && bytes.text() == chunk.name);
    facts.i32(4, UNCOMPRESSED);
    facts.i64(5, rows);
    chunk.offset = offset;
    chunk.bytes = facts.count(6);
    require(chunk.bytes > 0 && chunk.bytes <= pages_end - offset);
    facts.i64(7, chunk.bytes);
    const std::size_t data = facts.count(9);
    require(data >= offset && data - offset < chunk.bytes && (data > offset) == has_dictionary);
    chunk.dictionary_bytes = data - offset;
    if (has_dictionary) facts.i64(11, offset);
    facts.end();
    outer.end();
}

struct Page {
    std::size_t count;  // of values
    std::string_view body;
};

// A page that fills all of the bytes.
Page parse_page(std::string_view pages, std::int64_t kind, std::int64_t encoding) {
    Bytes bytes(pages);
    Fields header(bytes);
    header.i32(1, kind);
    const std::int64_t size = header.i32(2);
    header.i32(3, size);
    Fields detail = header.record(kind == DATA_PAGE ? 5 : 7);
    const std::int64_t count = detail.i32(1);
    require(size >= 0 && count >= 0);
    page_encodings(detail, kind, encoding);
    header.end();
    require(bytes.rest().size() == static_cast<std::size_t>(size));
    return {static_cast<std::size_t>(count), bytes.rest()};
}

double double_at(std::string_view bytes, std::size_t place) {
    double value;
    std::memcpy(&value, bytes.data() + place * sizeof value, sizeof value);
    return value;
}

// The bits of one packed run, with their header.
std::string_view packed(Bytes& bytes, std::size_t count, unsigned width) {
    const std::size_t groups = (count + 7) / 8;
    require(bytes.varint() == (groups << 1 | 1));
    return bytes.take(groups * width);
}

// Which rows have a value: `marks` stays empty if all or none have one, and the result is how many.
std::size_t parse_levels(Bytes& bytes, std::size_t rows, std::vector<std::uint8_t>& marks) {
    std::uint32_t size;
    std::memcpy(&size, bytes.take(sizeof size).data(), sizeof size);
    Bytes levels(bytes.take(size));
    const std::string_view all = levels.rest();
    require(!all.empty());
    if ((all[0] & 1) == 0) {
        require(levels.varint() >> 1 == rows);
        const std::uint8_t level = levels.byte();
        require(level <= 1 && levels.rest().empty());
        return level == 0 ? 0 : rows;
    }
    const std::string_view bits = packed(levels, rows, 1);
    require(levels.rest().empty());
    marks.resize(rows);
    std::size_t present = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        marks[i] = static_cast<std::uint8_t>(static_cast<unsigned char>(bits[i / 8]) >> (i % 8) & 1);
        present += marks[i];
    }
    return present;
}

// Values by their places in a dictionary of `size` values.
void look_up(Bytes& bytes, std::string_view dictionary, std::size_t size, std::span<double> values) {
    const unsigned width = bytes.byte();
    require(width >= 1 && width <= most_index_bits && !bytes.rest().empty());
    if ((bytes.rest()[0] & 1) == 0) {
        require(width <= 8 && bytes.varint() >> 1 == values.size());
        const std::size_t place = bytes.byte();
        require(place < size);
        std::ranges::fill(values, double_at(dictionary, place));
        return;
    }
    const std::string_view bits = packed(bytes, values.size(), width);
    std::uint64_t held = 0;
    unsigned n_held = 0;
    std::size_t at = 0;
    for (double& value : values) {
        for (; n_held < width; n_held += 8) {
            held |= std::uint64_t{static_cast<unsigned char>(bits[at++])} << n_held;
        }
        const std::size_t place = held & ((1U << width) - 1);
        held >>= width;
        n_held -= width;
        require(place < size);
        value = double_at(dictionary, place);
    }
}

// Moves the first values to the rows that have one, from the last row on.
void spread(std::span<double> values, std::size_t present, const std::vector<std::uint8_t>& marks) {
    for (std::size_t i = values.size(); i-- > 0;) {
        values[i] = marks[i] != 0 ? values[--present] : std::numeric_limits<double>::quiet_NaN();
    }
}

// The values of a chunk; NaN where there is none.
void decode(std::string_view pages, const Chunk& chunk, std::span<double> values) {
    require(chunk.type == DOUBLE && pages.size() == chunk.bytes);
    const bool has_dictionary = chunk.dictionary_bytes != 0;
    const Page data = parse_page(pages.substr(chunk.dictionary_bytes), DATA_PAGE,
                                 has_dictionary ? std::int64_t{RLE_DICTIONARY} : std::int64_t{PLAIN});
    require(data.count == values.size());
    Bytes bytes(data.body);
    std::vector<std::uint8_t> marks;
    const std::size_t present = chunk.is_nullable ? parse_levels(bytes, values.size(), marks) : values.size();
    const std::span<double> some = values.first(present);
    if (has_dictionary) {
        const Page dictionary = parse_page(pages.substr(0, chunk.dictionary_bytes), DICTIONARY_PAGE, PLAIN);
        require(dictionary.count <= largest_dictionary);
        require(dictionary.body.size() == dictionary.count * sizeof(double));
        look_up(bytes, dictionary.body, dictionary.count, some);
    } else if (present > 0) {
        std::memcpy(some.data(), bytes.take(some.size_bytes()).data(), some.size_bytes());
    }
    require(bytes.rest().empty());
    if (!marks.empty()) {
        spread(values, present, marks);
    } else if (present == 0) {
        std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
    }
}

Footer parse_footer(std::string_view footer, std::size_t pages_end) {
    Bytes bytes(footer);
    Fields file(bytes);
    Footer found;
    file.i32(1, 2);
    parse_schema(bytes, file, found);
    found.rows = file.count(3);
    require(found.rows > 0 && found.rows <= most_rows);
    require(file.list(4, record_type) == 1);
    Fields group(bytes);
    require(group.list(1, record_type) == found.chunks.size());
    std::size_t offset = magic.size();
    for (Chunk& chunk : found.chunks) {
        parse_chunk(bytes, chunk, found.rows, offset, pages_end);
        offset += chunk.bytes;
    }
    require(offset == pages_end);
    group.i64(2, offset - magic.size());
    group.i64(3, found.rows);
    group.end();
    require(file.text(6) == "cobre");
    file.end();
    require(bytes.rest().empty());
    return found;
}

// A file that is open for reading. Bytes are copied, not mapped: a file that shrinks meanwhile must not end the
// process.
class OpenFile {
public:
    explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        struct stat found{};
        require(descriptor_ >= 0);
        if (::fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode)) {
            size_ = static_cast<std::size_t>(found.st_size);
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() { ::close(descriptor_); }

    std::size_t size() const noexcept { return size_; }
    void read(std::size_t offset, std::size_t n, std::string& into) const {
        if (into.size() < n) into.resize(n);
        for (std::size_t done = 0; done < n;) {
            const ssize_t got =
                ::pread(descriptor_, into.data() + done, n - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            require(got > 0);
            done += static_cast<std::size_t>(got);
        }
    }

private:
    int descriptor_;
    std::size_t size_ = 0;
};

Footer read_footer(const OpenFile& file, std::string& buffer) {
    constexpr std::size_t length_size = 4;
    const std::size_t tail = length_size + magic.size();
    require(file.size() >= magic.size() + tail);
    std::size_t n = std::min(file.size(), likely_footer);
    file.read(file.size() - n, n, buffer);
    require(std::string_view(buffer).substr(n - magic.size(), magic.size()) == magic);
    std::uint32_t length;
    std::memcpy(&length, buffer.data() + n - tail, length_size);
    require(length <= file.size() - magic.size() - tail);
    const std::size_t pages_end = file.size() - tail - length;
    if (n < length + tail) {
        n = length + tail;
        file.read(file.size() - n, n, buffer);
    }
    return parse_footer(std::string_view(buffer).substr(n - tail - length, length), pages_end);
}

// The one column of this name.
const Chunk& chunk_of(const Footer& footer, const std::string& name) {
    const Chunk* found = nullptr;
    for (const Chunk& each : footer.chunks) {
        if (each.name != name) continue;
        require(found == nullptr);
        found = &each;
    }
    require(found != nullptr);
    return *found;
}

}  // namespace

ScenarioReader::ScenarioReader(const std::string& first, std::vector<std::string> keys,
                               std::vector<std::string> columns)
    : keys_(std::move(keys)), columns_(std::move(columns)) {
    try {
        std::string buffer;
        const OpenFile file(first);
        const Footer footer = read_footer(file, buffer);
        for (const std::string& name : keys_) {
            const Chunk& chunk = chunk_of(footer, name);
            file.read(chunk.offset, chunk.bytes, buffer);
            key_pages_.emplace_back(buffer, 0, chunk.bytes);
        }
        for (const std::string& name : columns_) require(chunk_of(footer, name).type == DOUBLE);
        rows_ = footer.rows;
        is_usable_ = true;
    } catch (const Foreign&) {
    }
}

bool ScenarioReader::read(const std::string& path, std::span<const std::span<double>> values) const {
    if (!is_usable_ || values.size() != columns_.size()) return false;
    try {
        thread_local std::string buffer;
        const OpenFile file(path);
        const Footer footer = read_footer(file, buffer);
        require(footer.rows == rows_);
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            const Chunk& chunk = chunk_of(footer, keys_[i]);
            require(chunk.bytes == key_pages_[i].size());
            file.read(chunk.offset, chunk.bytes, buffer);
            require(std::string_view(buffer).substr(0, chunk.bytes) == key_pages_[i]);
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const Chunk& chunk = chunk_of(footer, columns_[i]);
            require(values[i].size() == rows_);
            file.read(chunk.offset, chunk.bytes, buffer);
            decode(std::string_view(buffer).substr(0, chunk.bytes), chunk, values[i]);
        }
        return true;
    } catch (const Foreign&) {
        return false;
    }
}

}  // namespace cobre::output
